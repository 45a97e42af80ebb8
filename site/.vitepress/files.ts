import { copyFileSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, posix } from 'node:path'
import { PAGES, ROOT } from './pages.ts'

/** Files of the repository that pages link to, which are no pages: they are shown as text, folders as a list. */
export class LinkedFiles {
  readonly #paths = new Set<string>()

  /** The address of what a page links to; undefined for other sites, pages and places in them. */
  addressOf(page: string, href: string): string | undefined {
    const [target = ''] = href.split('#')
    if (target === '' || /^\w+:/.test(target)) return undefined
    const path = posix.join(posix.dirname(page), target)
    if (PAGES.includes(path)) return undefined
    this.#paths.add(path)
    return `/files/${nameOf(path)}`
  }

  copy(folder: string): void {
    for (const path of this.#paths) {
      const copy = join(folder, 'files', nameOf(path))
      mkdirSync(dirname(copy), { recursive: true })
      // A link to what does not exist fails the build here.
      if (statSync(join(ROOT, path)).isFile()) copyFileSync(join(ROOT, path), copy)
      else writeFileSync(copy, listOf(path, dirname(copy)))
    }
  }
}

const nameOf = (path: string) =>
  statSync(join(ROOT, path)).isFile() ? `${path}.txt` : posix.join(path, 'index.html')

function listOf(path: string, folder: string): string {
  const items = readdirSync(join(ROOT, path)).map((name) => {
    if (!name.endsWith('.png')) return `<p>${name}</p>`
    copyFileSync(join(ROOT, path, name), join(folder, name))
    return `<figure><img loading="lazy" height="480" src="${name}" alt=""><figcaption>${name}</figcaption></figure>`
  })
  return `<!doctype html><meta charset="utf-8"><title>${basename(path)}</title>${items.join('\n')}`
}
