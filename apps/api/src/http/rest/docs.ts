import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

/** The app's policy, plus inline images in styles, which the page needs. Nothing from other origins. */
const CSP =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; script-src 'self'; " +
  "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

/** A page to read and try the API. Its files are in the package, so it works without the internet. */
export async function registerDocs(app: FastifyInstance, document: object, basePath: string): Promise<void> {
  await app.register(documentPlugin(document))
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    // In front of the files that the page names.
    indexPrefix: basePath,
    staticCSP: CSP,
    // Hides Swagger's top bar, which offers to open other documents.
    theme: {
      title: 'Oncue API',
      css: [{ filename: 'oncue.css', content: '.swagger-ui .topbar { display: none }' }],
    },
    uiConfig: { deepLinking: true, tryItOutEnabled: true, persistAuthorization: false },
  })
}

/** Stands in for @fastify/swagger, which would write a document of its own from schemas that our routes do not have. */
function documentPlugin(document: object) {
  const plugin = async (app: FastifyInstance) => {
    // JSON is YAML as well.
    app.decorate('swagger', (options?: { yaml?: boolean }) =>
      options?.yaml ? JSON.stringify(document) : document,
    )
  }
  return Object.assign(plugin, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('plugin-meta')]: { name: '@fastify/swagger' },
  })
}
