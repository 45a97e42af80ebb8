/** The path below which a server has mounted this app, as in `/admin/jobs`; empty at the root. The server writes it into the page. */
const given = globalThis.document?.documentElement.dataset.base
export const BASE_PATH = given ?? ''

/** Another application signs people in and out. */
export const IS_MOUNTED: boolean = given !== undefined

type Load = (path: string) => Promise<void>

/** The router reads the base when it is called: see babel.config.js. Parts that are loaded later have paths from the root. */
export function moveTo(base: string): void {
  if (base === '') return
  const global = globalThis as { __loadBundleAsync?: Load; __oncueBase?: string }
  global.__oncueBase = base
  let load = global.__loadBundleAsync
  Object.defineProperty(global, '__loadBundleAsync', {
    configurable: true,
    get: () => load && ((path: string) => load?.(base + path)),
    set: (next: Load) => {
      load = next
    },
  })
}

moveTo(BASE_PATH)
