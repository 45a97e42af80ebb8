import { readFile } from 'node:fs/promises'
import type { Job, JobSummary } from '@oncue/core'
import { expect, expectTypeOf, test } from 'vitest'
import { type FieldIn, jobColumns } from '../src/job-columns.ts'

/** Prisma's types, by our names. */
const TYPES: Record<string, string> = {
  'String @db.Uuid': 'uuid',
  String: 'text',
  Status: 'status',
  Int: 'integer',
  'Int @db.SmallInt': 'smallint',
  'DateTime @db.Timestamptz(3)': 'time',
  'Json @db.Json': 'json',
  'Json @db.JsonB': 'jsonb',
}

const models = await readFile(new URL('../../../prisma/models.prisma', import.meta.url), 'utf8')

test('the table of columns and the Prisma models agree', () => {
  expect(disagreements(models)).toEqual([])
})

test('a column that only one of them has, or that differs, is named', () => {
  const changed = models
    .replace('model Job {', 'model Job {\n  tenant String?')
    .replace(/(model History \{[^}]*?)retries +Int +@db\.SmallInt/, '$1retries Int')
    .replace(/(model History \{[^}]*?)\n *trace .*/, '$1')
  expect(disagreements(changed)).toEqual([
    'history.retries: retries smallint in job-columns.ts, retries integer in models.prisma',
    'history.trace: trace text in job-columns.ts, missing in models.prisma',
    'jobs.tenant: missing in job-columns.ts, tenant text in models.prisma',
  ])
})

test('reads return every field of a job, and lists all but the large ones', () => {
  expectTypeOf<FieldIn<'list' | 'get'>>().toEqualTypeOf<keyof Job>()
  expectTypeOf<FieldIn<'list'>>().toEqualTypeOf<keyof JobSummary>()
})

test('what every claim returns is never null, unless its field is', () => {
  const [, body = ''] = /^model Job \{\n([^}]*)/m.exec(models) ?? []
  const nullable = new Set([...body.matchAll(/^ {2}(\w+) +\w+\?/gm)].map(([, field]) => field))
  const fields = jobColumns('claim').filter(({ claimed, big }) => !claimed && !big)
  const mayBeNull = fields.map(({ field }) => field).filter((field) => nullable.has(field))
  // A job that can be claimed is visible.
  expect(mayBeNull).toEqual(['visibleAt'])
})

/** Named by table and column. */
function disagreements(text: string): string[] {
  const ours = new Map<string, string>()
  for (const { name, field, type, only } of jobColumns())
    for (const table of only ? [only] : ['jobs', 'history']) ours.set(`${table}.${name}`, `${field} ${type}`)
  const theirs = new Map([...columnsOf(text, 'Job', 'jobs'), ...columnsOf(text, 'History', 'history')])
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .filter((column) => ours.get(column) !== theirs.get(column))
    .sort()
    .map((column) => {
      const [here, there] = [ours.get(column) ?? 'missing', theirs.get(column) ?? 'missing']
      return `${column}: ${here} in job-columns.ts, ${there} in models.prisma`
    })
}

function columnsOf(text: string, model: string, table: string): [string, string][] {
  const [, body = ''] = new RegExp(`^model ${model} \\{\\n([^}]*)`, 'm').exec(text) ?? []
  const fields = body.matchAll(/^ {2}(\w+) +(\w+)\??(.*)$/gm)
  return [...fields].map(([, field = '', type = '', rest = '']) => {
    const name = /@map\("(\w+)"\)/.exec(rest)?.[1] ?? field
    const native = /@db\.\w+(\(\d\))?/.exec(rest)?.[0]
    const known = TYPES[native ? `${type} ${native}` : type] ?? `${type} (unknown)`
    return [`${table}.${name}`, `${field} ${known}`]
  })
}
