import { existsSync, readFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import fastifyStatic from '@fastify/static'
import { OncueError } from '@oncue/core'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** Built files carry a hash of their content in their name, so their content never changes. */
const HASHED = /[-.][0-9a-f]{8,}\./
const FOREVER = 'max-age=31536000, immutable'
const ASK_EACH_TIME = 'no-cache'

/** Paths that are never pages of the app, in any case. */
const NOT_THE_APP = /^\/(api|trpc|docs|metrics|healthz|readyz|openapi\.json)(\/|$)/

/** How its pages begin. */
export const PAGES = [
  ...['activity', 'alerts', 'bulk-operations', 'database', 'failures', 'jobs', 'pair', 'questions', 'queues'],
  ...['schedules', 'server-settings', 'settings', 'sign-in', 'tokens', 'topics', 'workers'],
] as const

/** Serves the app's web build, whose own router knows the pages: a path that looks like one gets its index.html. */
export async function serveApp(app: FastifyInstance, folder: string, basePath?: string): Promise<void> {
  const isBuilt = existsSync(join(folder, 'index.html'))
  // Of a mounted app, files too are for those who are signed in: no shared cache hands them out.
  const audience = basePath === undefined ? 'public' : 'private'
  const page = isBuilt && basePath !== undefined ? rebase(folder, basePath) : null
  const sendPage = (reply: FastifyReply) =>
    page === null
      ? reply.sendFile('index.html')
      : reply.header('cache-control', ASK_EACH_TIME).type('text/html; charset=utf-8').send(page.html)
  if (page) {
    app.get('/', (_, reply) => sendPage(reply))
    app.get('/index.html', (_, reply) => sendPage(reply))
    app.get('/manifest.webmanifest', (_, reply) =>
      reply.header('cache-control', ASK_EACH_TIME).type('application/manifest+json').send(page.manifest),
    )
  }
  if (isBuilt) {
    await app.register(fastifyStatic, {
      root: folder,
      cacheControl: false,
      // The build has a compressed copy beside each file.
      preCompressed: true,
      setHeaders: (reply, path) => {
        void reply.header(
          'cache-control',
          HASHED.test(basename(path)) ? `${audience}, ${FOREVER}` : ASK_EACH_TIME,
        )
      },
    })
  }
  const notBuilt = NOT_BUILT.replace('href="/', `href="${basePath ?? ''}/`)
  app.setNotFoundHandler((request, reply) => {
    const [pathname = '/'] = request.url.split('?', 1)
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (!isRead || !isPage(request.url, request.headers.accept))
      throw new OncueError('NOT_FOUND', `There is no ${request.method} ${pathname.slice(0, 200)}`)
    if (isBuilt) return sendPage(reply)
    return reply.header('cache-control', ASK_EACH_TIME).type('text/html; charset=utf-8').send(notBuilt)
  })
}

/** Whether this path, which may have a query, is one of the app's pages. */
export function isPage(path: string, accept: string | null | undefined): boolean {
  // Not with URL, which throws for paths such as `//`.
  const [pathname = '/'] = path.split('?', 1)
  // A queue may be named mail.v2: a browser that follows a link accepts HTML, a request for a missing file does not.
  const looksLikePage = extname(pathname) === '' || accept?.includes('text/html') === true
  return looksLikePage && !NOT_THE_APP.test(pathname)
}

/** The two files that name others by their path. The app finds its own base in the page. */
function rebase(folder: string, basePath: string): { readonly html: string; readonly manifest: string } {
  const html = readFileSync(join(folder, 'index.html'), 'utf8')
    .replace('<html', `<html data-base="${basePath}"`)
    .replaceAll(/\b(src|href)="\//g, `$1="${basePath}/`)
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.webmanifest'), 'utf8')) as Manifest
  const { id, start_url, scope, icons } = manifest
  const moved = {
    ...{ id: basePath + id, start_url: basePath + start_url, scope: basePath + scope },
    icons: icons.map((icon) => ({ ...icon, src: basePath + icon.src })),
  }
  return { html, manifest: JSON.stringify({ ...manifest, ...moved }) }
}

interface Manifest {
  readonly id: string
  readonly start_url: string
  readonly scope: string
  readonly icons: readonly { readonly src: string }[]
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Oncue</title>
<h1>Oncue is running, but its app is not built</h1>
<p>The published package contains it. In a clone, build it and start again, or set <code>ONCUE_APP_DIR</code> to the folder of a build.</p>
<p>The API works without it: <a href="/docs">try it</a>.</p>
</html>
`
