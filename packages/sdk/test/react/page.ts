// Bundled for a browser by react.test.ts.
import { createElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { z } from 'zod'
import { createClient, defineJobs, job } from '../../src/index.ts'
import { useJob } from '../../src/react.ts'

const jobs = defineJobs({
  export_rows: job({
    input: z.object({ table: z.string() }),
    output: z.object({ finishedAt: z.coerce.date() }),
    progress: z.object({ rows: z.number(), since: z.coerce.date() }),
    retry: false,
  }),
})

/** What the test does to the page. */
export interface Page {
  show(id: string | null): void
  leave(): void
  isWatching(): boolean
}

let latest: AbortSignal | null | undefined

/** Remembers the stream that was opened last. */
const remembering: typeof fetch = (input, init) => {
  if (String(input instanceof Request ? input.url : input).includes('jobs.watch')) latest = init?.signal
  return fetch(input, init)
}

const { token, document } = globalThis as unknown as {
  token: string
  document: { getElementById(id: string): never }
}
const client = createClient({ url: '/', token, jobs, fetch: remembering })

function Shown({ id }: { readonly id: string | null }) {
  const view = useJob(client, id, { topic: 'export_rows' })
  const { state, status = '', progress, result, error } = view
  const rows = progress ? `${progress.rows} rows since ${progress.since.getUTCFullYear()}` : ''
  const year = result ? `finished in ${result.finishedAt.getUTCFullYear()}` : ''
  return createElement('output', null, [state, status, rows, year, error?.code].filter(Boolean).join(', '))
}

const root = createRoot(document.getElementById('root'))
const page: Page = {
  show: (id) => root.render(createElement(StrictMode, null, createElement(Shown, { id }))),
  leave: () => root.render(createElement('output', null, 'left')),
  isWatching: () => latest?.aborted === false,
}
Object.assign(globalThis, { page })
