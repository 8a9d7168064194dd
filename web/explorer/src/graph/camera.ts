// The part of the picture that is visible. Pure functions; a camera is never changed in place.

/** The upper left corner in units of the picture, and pixels per unit. */
export interface Camera { readonly x: number; readonly y: number; readonly scale: number }
export interface Area { x: number; y: number; width: number; height: number }

/** Scale below which most titles are cut. */
export const READABLE = 0.45;
const SCALES = { least: 0.01, most: 4 };

const AROUND = 40;
// Room around the whole picture; the legend and the buttons are at the lower border.
const MARGIN = { side: 14, top: 12 };
/** A narrow page has the legend above the buttons, if there is room for it. */
const bottomOf = ({ width, height }: { width: number; height: number }) => (width <= 700 && height > 400 ? 84 : 46);

export function fit(area: Area, view: { width: number; height: number }, most = 1.25): Camera {
  const height = view.height - MARGIN.top - bottomOf(view);
  const scale = Math.max(SCALES.least, Math.min(most, (view.width - 2 * MARGIN.side) / Math.max(area.width, 1), height / Math.max(area.height, 1)));
  return { scale, x: area.x + area.width / 2 - view.width / scale / 2, y: area.y + area.height / 2 - (MARGIN.top + height / 2) / scale };
}
/** Zooms around a point of the view, which stays where it is. */
export function zoom({ x, y, scale }: Camera, factor: number, at: { x: number; y: number }): Camera {
  const next = Math.max(SCALES.least, Math.min(SCALES.most, scale * factor));
  return { scale: next, x: x + at.x / scale - at.x / next, y: y + at.y / scale - at.y / next };
}
export function pan({ x, y, scale }: Camera, dx: number, dy: number): Camera {
  return { scale, x: x - dx / scale, y: y - dy / scale };
}
/** Centres an area; zooms only if its texts could not be read, or if it is larger than the view. */
export function centre(camera: Camera, area: Area, view: { width: number; height: number }): Camera {
  const largest = Math.min(view.width / Math.max(area.width + 40, 1), view.height / Math.max(area.height + 40, 1));
  const scale = Math.min(Math.max(camera.scale, 0.75), Math.max(largest, 0.1));
  return { scale, x: area.x + area.width / 2 - view.width / scale / 2, y: area.y + area.height / 2 - view.height / scale / 2 };
}
/** Moves a camera so that the picture, with a little around it, fills the view; or is in its middle, if it is smaller. */
export function clamp(camera: Camera, area: Area, view: { width: number; height: number }): Camera {
  const { scale } = camera;
  const within = (at: number, from: number, size: number, room: number, before: number, after: number) => {
    const [least, most] = [from - before / scale, from + size + after / scale - room / scale];
    return least > most ? (least + most) / 2 : Math.max(least, Math.min(most, at));
  };
  return {
    scale, x: within(camera.x, area.x, area.width, view.width, AROUND, AROUND),
    y: within(camera.y, area.y, area.height, view.height, AROUND, AROUND + bottomOf(view) - MARGIN.top),
  };
}
export function toScreen({ x, y, scale }: Camera, area: Area): Area {
  return { x: (area.x - x) * scale, y: (area.y - y) * scale, width: area.width * scale, height: area.height * scale };
}
export function isVisible(camera: Camera, area: Area, view: { width: number; height: number }): boolean {
  const { x, y, width, height } = toScreen(camera, area);
  return x < view.width && y < view.height && x + width > 0 && y + height > 0;
}
