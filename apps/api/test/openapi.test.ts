import { ERRORS } from '@oncue/core'
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { openApiDocument } from '../src/http/rest/openapi.ts'
import { ROUTES } from '../src/http/rest/routes.ts'

const document = openApiDocument()

test('the document is valid OpenAPI 3.1 for another parser', async () => {
  const validator = new Validator()
  expect(await validator.validate(structuredClone(document))).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
})

test('the file in the repository is this document (write it with vitest -u)', async () => {
  await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot('../openapi.json')
})

test('it names every route of the table and the session, each with a unique operation id', () => {
  const operations = Object.entries(
    document.paths as Record<string, Record<string, { operationId: string }>>,
  ).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => ({ path, method, operationId })),
  )
  const inTable = ROUTES.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
  inTable.push('POST /api/session', 'DELETE /api/session', 'POST /api/session/pair')
  expect(operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`).sort()).toEqual(
    inTable.sort(),
  )
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(inTable.length)
})

test('its errors are those of the error table', () => {
  const { Error: error } = (document.components as { schemas: Record<string, unknown> }).schemas
  expect(error).toMatchObject({
    properties: { error: { properties: { code: { enum: Object.keys(ERRORS) } } } },
  })
})

test('its examples are valid requests', () => {
  const withBody = ROUTES.filter(({ body }) => body !== null)
  expect(withBody.map(({ input, example }) => input.safeParse(example).success)).toEqual(
    withBody.map(() => true),
  )
})

test('the fields of responses are in snake_case at every depth, except those of a retry policy, as it was given', () => {
  type Described = { responses?: Record<string, unknown> }
  const paths = document.paths as Record<string, Record<string, Described>>
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses }]) => ({ at: `${method} ${path}`, responses })),
  )
  const camelCase = operations.flatMap(({ at, responses }) =>
    fieldsOf(responses)
      .filter((field) => /[a-z][A-Z]/.test(field))
      .map((field) => `${at} ${field}`),
  )
  expect(camelCase.filter((field) => !/(base|min|max)Delay$/.test(field))).toEqual([])
  expect(operations.flatMap(({ responses }) => fieldsOf(responses))).toContain('next_try_at')
})

/** The names of all properties that a part of the document describes. */
function fieldsOf(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return []
  const { properties } = part as { properties?: object }
  return [...Object.keys(properties ?? {}), ...Object.values(part).flatMap(fieldsOf)]
}
