import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'vitest'
import { openApiDocument } from '../src/http/rest/openapi.ts'
import type { Answer } from './test-server.ts'

interface Documented {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>
}
type Paths = Readonly<Record<string, Record<string, { readonly responses: Record<string, Documented> }>>>

const document = openApiDocument()
const paths = document.paths as Paths
// Both the responses and the document come from zod, so an independent implementation compares them.
const ajv = new Ajv2020({ strict: false })
addFormats.default(ajv)
ajv.addSchema({ $id: 'openapi', ...document })

const templates = Object.keys(paths).map((path) => ({
  path,
  // More specific paths come first: /api/jobs/stats is no job id.
  order: path.split('{').length,
  pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
}))
templates.sort((a, b) => a.order - b.order)

const validators = new Map<string, ValidateFunction>()

/** The response must have a status and a body that the OpenAPI document describes. */
export function expectDocumented(method: string, url: string, answer: Answer): void {
  const [path = ''] = url.split('?', 1)
  const known = templates.find(({ pattern }) => pattern.test(path))?.path ?? ''
  const responses = paths[known]?.[method.toLowerCase()]?.responses
  if (!responses) return
  const what = `${method} ${known}: ${answer.status} ${answer.text.slice(0, 300)}`
  expect(Object.keys(responses), what).toContain(`${answer.status}`)
  const { content } = responses[answer.status] ?? {}
  if (!content) {
    expect(answer.text, what).toBe('')
    return
  }
  expect(answer.headers.get('content-type'), what).toBe('application/json; charset=utf-8')
  const pointer = ['paths', known, method.toLowerCase(), 'responses', `${answer.status}`]
  const ref = `openapi#/${[...pointer, 'content', 'application/json', 'schema'].map(encodePointer).join('/')}`
  const validate = validators.get(ref) ?? ajv.compile({ $ref: ref })
  validators.set(ref, validate)
  expect(validate(answer.body), `${what} ${ajv.errorsText(validate.errors)}`).toBe(true)
}

const encodePointer = (name: string) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))
