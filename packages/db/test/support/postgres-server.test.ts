import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { until } from '@oncue/testing'
import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { startPostgres } from './postgres-server.ts'

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query({ text, rowMode: 'array' })).rows.flat()
  } finally {
    await client.end()
  }
}

test('committed data is there after a kill and a restart', async () => {
  const server = await startPostgres()
  try {
    await query(server.url, 'create table kept as select 42 as answer')
    const { pid } = server
    await server.kill()
    await expect(query(server.url, 'select 1')).rejects.toThrow()
    await server.start()
    expect(server.pid).not.toBe(pid)
    expect(await query(server.url, 'select answer from kept')).toEqual([42])
  } finally {
    await server.stop()
  }
})

test('durability is on unless it is turned off', async () => {
  const server = await startPostgres({ settings: { max_connections: '17' } })
  try {
    const settings = `select name || '=' || setting from pg_settings
      where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'max_connections') order by name`
    expect(await query(server.url, settings)).toEqual([
      'fsync=on',
      'full_page_writes=on',
      'max_connections=17',
      'synchronous_commit=on',
    ])
  } finally {
    await server.stop()
  }
  expect(existsSync(server.dataDir)).toBe(false)
})

test('a server that cannot start says why', async () => {
  await expect(startPostgres({ settings: { max_connections: 'many' } })).rejects.toThrow(/max_connections/)
})

test('a port that is taken is an error when the caller asked for it', async () => {
  const { port } = new URL(inject('postgresUrl'))
  await expect(startPostgres({ port: Number(port) })).rejects.toThrow(/Address already in use/)
})

test('the server ends with the process that started it, even when that is killed', async () => {
  const script = `
    import { startPostgres } from ${JSON.stringify(new URL('./postgres-server.ts', import.meta.url).href)}
    const { url, dataDir } = await startPostgres()
    console.log(JSON.stringify({ url, dataDir }))
    setInterval(() => {}, 1000)`
  const owner = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface({ input: owner.stdout }), 'line')
  const { url, dataDir } = JSON.parse(line)
  expect(await query(url, 'select 1')).toEqual([1])
  owner.kill('SIGKILL')
  await until(() => !existsSync(dataDir))
  await expect(query(url, 'select 1')).rejects.toThrow()
})
