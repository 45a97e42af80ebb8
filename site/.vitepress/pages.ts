import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Read by users and contributors of Oncue; the others are for the folder or the project that they are in. */
const LEFT_OUT = /^\.changeset\/|\/CHANGELOG\.md$|^packages\/create-oncue\/templates\//

const tracked = execFileSync('git', ['ls-files', '-z', '*.md'], { cwd: ROOT, encoding: 'utf8' }).split('\0')

/** Every page, by its path from the root of the repository. */
export const PAGES: readonly string[] = tracked.filter((path) => path !== '' && !LEFT_OUT.test(path))
export const NO_PAGES: readonly string[] = tracked.filter((path) => path !== '' && LEFT_OUT.test(path))

export const read = (page: string) => readFileSync(ROOT + page, 'utf8')

export const titleOf = (page: string) => /^# +(.+)$/m.exec(read(page))?.[1]?.replaceAll('`', '') ?? page

/** Its address: a README is what its folder shows. */
export const addressOf = (page: string) =>
  `/${page.replace(/(README)?\.md$/, (_, readme) => (readme ? '' : '.html'))}`

export interface Entry {
  readonly page: string
  readonly about: string
}

/** In the order of docs/README.md, which is the only place that says it. */
export const ENTRIES: readonly Entry[] = [
  ...read('docs/README.md')
    .replaceAll(/\n {2}/g, ' ')
    .matchAll(/^- \[[^\]]+\]\(([^)]+)\): (.+)$/gm),
].map(([, path = '', about = '']) => ({
  page: new URL(path, 'file:///docs/').pathname.slice(1),
  about: about.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'),
}))

/** The pages of `reference.ts`, which a build writes before it starts. */
export const REFERENCE = [
  { page: 'oncue', entry: 'index', about: 'definitions, the queue, handlers, the worker, errors' },
  { page: 'oncue-client', entry: 'client', about: 'the client over HTTP, for browsers, phones and servers' },
  { page: 'oncue-react', entry: 'react', about: 'a job in a React component' },
  { page: 'oncue-app', entry: 'app', about: 'the app and the API below a path of your own server' },
  { page: 'oncue-testing', entry: 'testing', about: 'a worker and a client for tests' },
].map((page) => ({ ...page, title: page.page.replace('-', '/'), link: `/reference/${page.page}.html` }))

/** As GitHub names the anchors of headings, which the links in the pages use. */
export const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
