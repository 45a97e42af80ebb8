import { openStore } from '@oncue/db'
import { eventually } from '@oncue/testing'
import { describe, expect, it } from 'vitest'
import { startProcess } from './api-process.ts'
import { ADMIN_TOKEN, createClient, createDatabase, DIALECTS, errorOf } from './harness.ts'

describe.each(DIALECTS)('two API processes on one %s', (dialect) => {
  it('share tokens, sessions, revocation, settings and live streams', async () => {
    const database = await createDatabase(dialect)
    const env = { ONCUE_ADMIN_TOKEN: ADMIN_TOKEN }
    const [one, two] = await Promise.all([startProcess(database.url, env), startProcess(database.url, env)])
    const [adminOne, adminTwo] = [createClient(one.url), createClient(two.url)]

    // A token that one created is valid at the other.
    const { id: tokenId, secret } = await adminOne.tokens.create.mutate({ name: 'phone', role: 'operator' })
    const onTwo = createClient(two.url, secret)
    expect(await onTwo.queues.list.query()).toEqual([])

    // So is a session.
    const signedIn = await fetch(`${one.url}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: secret }),
    })
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
    const asSession = () => fetch(`${two.url}/trpc/queues.list`, { headers: { cookie } })
    expect((await asSession()).status).toBe(200)

    // A stream at one shows changes made through the other.
    const { id } = await adminTwo.jobs.enqueue.mutate({ topic: 'mail' })
    const seen: string[] = []
    let ended: string | undefined
    createClient(one.url, secret).jobs.watch.subscribe(
      { id },
      {
        onData: ({ data }) => seen.push(data.type === 'event' ? data.event.type : data.state.status),
        onError: (error) => {
          ended = error.data?.oncue.code ?? error.message
        },
      },
    )
    await eventually(() => expect(seen).toEqual(['pending']))
    const store = await openStore(database.url)
    await store.events.append(id, null, [{ type: 'node_started' }])
    await store.close()
    await eventually(() => expect(seen).toEqual(['pending', 'node_started']))

    // A setting that one changed applies at the other.
    await adminOne.settings.set.mutate({ enqueueRule: '' })
    await eventually(async () => {
      expect(await errorOf(onTwo.jobs.enqueue.mutate({ topic: 'mail' }))).toMatchObject({ code: 'FORBIDDEN' })
    })

    // A token revoked at one ends at both, with its sessions and streams.
    await adminTwo.tokens.revoke.mutate({ id: tokenId })
    await eventually(async () =>
      expect((await fetchAs(secret, `${one.url}/trpc/queues.list`)).status).toBe(401),
    )
    await eventually(async () => expect((await asSession()).status).toBe(401))
    await eventually(() => expect(ended).toBe('UNAUTHORIZED'))

    expect(await Promise.all([one.process.stop(), two.process.stop()])).toEqual([0, 0])
    await database.drop()
  })

  it('print the first admin token once, whichever starts first', async () => {
    const database = await createDatabase(dialect)
    const processes = await Promise.all([startProcess(database.url), startProcess(database.url)])
    const tokens = () => processes.flatMap(({ process }) => /oncue_[\w-]{43}/.exec(process.stdout)?.[0] ?? [])
    // Printed after the line which says that it has started.
    await eventually(() => expect(tokens()).toHaveLength(1))
    const [token = ''] = tokens()
    for (const { url } of processes)
      expect((await fetchAs(token, `${url}/trpc/tokens.list`)).status).toBe(200)
    expect(await Promise.all(processes.map(({ process }) => process.stop()))).toEqual([0, 0])
    expect(tokens()).toEqual([token])
    const again = await startProcess(database.url)
    expect(again.process.stdout + again.process.stderr).not.toMatch(/oncue_[\w-]{43}/)
    await again.process.stop()
    await database.drop()
  })
})

function fetchAs(token: string, url: string): Promise<Response> {
  return fetch(url, { headers: { authorization: `Bearer ${token}` } })
}
