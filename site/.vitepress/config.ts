import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { defineConfig } from 'vitepress'
import { LinkedFiles } from './files.ts'
import { writeLlms } from './llms.ts'
import { addressOf, anchorOf, ENTRIES, NO_PAGES, REFERENCE, ROOT, titleOf } from './pages.ts'

/** The documents as they are in the repository: nothing in them knows of this site. */

const GROUPS: Readonly<Record<string, (page: string) => boolean>> = {
  Guides: (page) => page.startsWith('docs/guides/'),
  Reference: (page) => /^docs\/[^/]+\.md$/.test(page),
  Inside: (page) => page.startsWith('docs/adr/') || !page.startsWith('docs/'),
}

const pageOf = (path: string) => (path.endsWith('/') ? `${path}README.md` : path)
const entries = ENTRIES.map(({ page }) => pageOf(page))
const sidebar = Object.entries(GROUPS).map(([text, belongs]) => ({
  text,
  items: entries.filter(belongs).map((page) => ({ text: titleOf(page), link: addressOf(page) })),
}))

/** `/v/0.1/` for the site of an older version, which is built from its tag and put below the newest one. */
const base = process.env.ONCUE_SITE_BASE ?? '/'
/** The folders of older versions, such as `0.1 0.2`. */
const older = (process.env.ONCUE_SITE_OLDER ?? '').split(' ').filter((version) => version !== '')
const { version } = JSON.parse(readFileSync(`${ROOT}packages/oncue/package.json`, 'utf8')) as {
  version: string
}

const files = new LinkedFiles()

/** Pages are outside of this folder, where nothing of Vue is installed. */
const ofVitePress = createRequire(import.meta.resolve('vitepress'))

export default defineConfig({
  title: 'Oncue',
  description: 'A typed job queue that lives in the database you already run',
  base,
  srcDir: '..',
  srcExclude: ['**/node_modules/**', '**/dist/**', ...NO_PAGES],
  rewrites: (page) =>
    page.replace(/^site\/reference\//, 'reference/').replace(/(^|\/)README\.md$/, '$1index.md'),
  lastUpdated: false,
  markdown: {
    anchor: { slugify: anchorOf },
    config(md) {
      md.core.ruler.push('repository-links', ({ tokens, env }) => {
        // Written for this site: its links are those of pages.
        if (env.relativePath.startsWith('reference/')) return
        for (const { children } of tokens)
          for (const token of children ?? []) {
            const href = token.type === 'link_open' ? token.attrGet('href') : null
            if (href === null) continue
            const file = files.addressOf(env.relativePath.replace(/(^|\/)index\.md$/, '$1README.md'), href)
            // The theme would look for a page behind a link of the site.
            if (file)
              token.attrs = [
                ['href', `${base}${file.slice(1)}`],
                ['target', '_blank'],
              ]
            else token.attrSet('href', href.replace(/(^|\/)README\.md(?=#|$)/, '$1index.md'))
          }
      })
    },
  },
  // Files are copied when the pages are known.
  ignoreDeadLinks: [/^\/(v\/[^/]+\/)?files\//],
  vite: {
    resolve: {
      alias: [
        { find: 'vue/server-renderer', replacement: ofVitePress.resolve('vue/server-renderer') },
        { find: /^vue$/, replacement: ofVitePress.resolve('vue/dist/vue.runtime.esm-bundler.js') },
      ],
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Start', link: '/docs/guides/getting-started.html' },
      { text: 'Documents', link: '/docs/' },
      { text: 'Reference', link: REFERENCE[0]?.link ?? '' },
      { text: 'Errors', link: '/docs/errors.html' },
      {
        text: version,
        items: [
          { text: 'Changelog', link: '/CHANGELOG.html' },
          // Sites of their own, so a click loads the page.
          ...older.map((folder) => ({ text: folder, link: `/v/${folder}/`, target: '_self' })),
        ],
      },
    ],
    sidebar: [
      ...sidebar,
      { text: 'Types', items: REFERENCE.map(({ title, link }) => ({ text: title, link })) },
    ],
    outline: [2, 3],
  },
  async buildEnd({ outDir }) {
    files.copy(outDir)
    await writeLlms(outDir, base)
  },
})
