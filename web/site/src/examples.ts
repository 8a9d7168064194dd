// The examples of the repository, which are files of the site.
export interface Example { readonly name: string; readonly title: string }
interface Index { readonly examples: readonly Example[]; readonly data: readonly string[] }

let index: Promise<Index> | null = null;
async function get(path: string): Promise<Response> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`);
  return response;
}
const load = (): Promise<Index> => (index ??= get("examples/index.json").then((response) => response.json() as Promise<Index>));

export const examples = async (): Promise<readonly Example[]> => (await load()).examples;
export const exampleText = async (name: string): Promise<string> => (await get(`examples/${name}`)).text();

const data = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
/** Files of the examples that a text names. */
export async function dataOf(text: string): Promise<[string, Uint8Array<ArrayBuffer>][]> {
  const named = (await load()).data.filter((path) => text.includes(path));
  return Promise.all(named.map(async (path): Promise<[string, Uint8Array<ArrayBuffer>]> => {
    if (!data.has(path)) data.set(path, get(`examples/${path}`).then(async (response) => new Uint8Array(await response.arrayBuffer())));
    return [path, await data.get(path)!];
  }));
}
