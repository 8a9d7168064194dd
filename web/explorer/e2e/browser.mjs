// How the tests start Chromium: Debian's, without any connection of its own.
export const LAUNCH = {
  executablePath: process.env.PTE_EMIT_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
};
