#!/usr/bin/env node
/**
 * Stands in for the native schema engine behind `prisma migrate …`, so that these commands work
 * where it cannot be downloaded. The CLI starts it and talks JSON-RPC to it, one message a line.
 *
 * That protocol is undocumented, so this is a tool for development and tests of the pinned Prisma
 * version. What users run is packages/db/src/migrate.ts.
 */
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { openEngine } from './engine.ts'

interface Request {
  id: number
  method?: string
  params?: unknown
}

/** Methods for which the CLI and the engine have different names. */
const RENAMED: Record<string, string> = { getDatabaseVersion: 'version' }

const { values, positionals } = parseArgs({
  // Further options that the CLI may send do not matter here.
  strict: false,
  allowPositionals: true,
  options: { datamodels: { type: 'string', multiple: true }, datasource: { type: 'string' } },
})
const { url } = JSON.parse(String(values.datasource)) as { url: string }
const paths = (values.datamodels ?? []).map(String)
const datamodels = await Promise.all(
  paths.map(async (path) => [path, await readFile(path, 'utf8')] as [string, string]),
)
const { engine, explain } = await openEngine(url, datamodels.length > 0 ? datamodels : undefined)
const methods = engine as unknown as Record<string, ((params: unknown) => Promise<unknown>) | undefined>

if (positionals[0] === 'cli') {
  // `cli can-connect-to-database`
  await engine.version()
  process.exit(0)
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as Request
  // Replies to our own `print` have no method.
  if (request.method) send({ id: request.id, ...(await respond(request.method, request.params)) })
}
process.exit(0)

async function respond(method: string, params: unknown): Promise<{ result: unknown } | { error: unknown }> {
  try {
    const result = await methods[RENAMED[method] ?? method]?.call(engine, params)
    if (method === 'diff') print((result as { stdout: string | null }).stdout)
    return { result: result ?? {} }
  } catch (error) {
    const message = explain(error)
    return { error: { code: 4466, message, data: { is_panic: false, message } } }
  }
}

/** The CLI expects the engine to have a diff printed. */
function print(content: string | null): void {
  if (content) send({ id: 1, method: 'print', params: { content } })
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}
