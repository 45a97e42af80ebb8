import { existsSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import fastifyStatic from '@fastify/static'
import { OncueError } from '@oncue/core'
import type { FastifyInstance } from 'fastify'

/** Built files carry a hash of their content in their name, so their content never changes. */
const HASHED = /[-.][0-9a-f]{8,}\./
const FOREVER = 'public, max-age=31536000, immutable'
const ASK_EACH_TIME = 'no-cache'

/** Paths that are never pages of the app, in any case. */
const NOT_THE_APP = /^\/(api|trpc|docs|metrics|healthz|readyz|openapi\.json)(\/|$)/

/** Serves the app's web build, whose own router knows the pages: a path that looks like one gets its index.html. */
export async function serveApp(app: FastifyInstance, folder: string): Promise<void> {
  const isBuilt = existsSync(join(folder, 'index.html'))
  if (isBuilt) {
    await app.register(fastifyStatic, {
      root: folder,
      cacheControl: false,
      // The build has a compressed copy beside each file.
      preCompressed: true,
      setHeaders: (reply, path) => {
        void reply.header('cache-control', HASHED.test(basename(path)) ? FOREVER : ASK_EACH_TIME)
      },
    })
  }
  app.setNotFoundHandler((request, reply) => {
    // Not with URL, which throws for paths such as `//`.
    const [pathname = '/'] = request.url.split('?', 1)
    // A queue may be named mail.v2: a browser that follows a link accepts HTML, a request for a missing file does not.
    const looksLikePage = extname(pathname) === '' || request.headers.accept?.includes('text/html') === true
    const isPage =
      (request.method === 'GET' || request.method === 'HEAD') && looksLikePage && !NOT_THE_APP.test(pathname)
    if (!isPage) throw new OncueError('NOT_FOUND', `There is no ${request.method} ${pathname.slice(0, 200)}`)
    if (isBuilt) return reply.sendFile('index.html')
    return reply.header('cache-control', ASK_EACH_TIME).type('text/html; charset=utf-8').send(NOT_BUILT)
  })
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
