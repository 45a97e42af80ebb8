import type { Job, JobSummary } from '@oncue/core'
import type { Enqueued, Health, WatchMessage } from '@oncue/core/wire'
import type { inferRouterInputs, inferRouterOutputs, TRPCRouterRecord } from '@trpc/server'
import { describe, expectTypeOf, it } from 'vitest'
import type { AppRouter } from '../src/index.ts'
import type { Client } from './harness.ts'

type Inputs = inferRouterInputs<AppRouter>
type Outputs = inferRouterOutputs<AppRouter>

/** `any`, without writing it. */
type Anything = ReturnType<typeof JSON.parse>

type IsAny<T> = 0 extends 1 & T ? true : false
/** The names of procedures with an `any`, at the top or one level within. */
type WithAny<Record> = {
  [Router in keyof Record & string]: {
    [Name in keyof Record[Router] & string]: HasAny<Record[Router][Name]> extends true
      ? `${Router}.${Name}`
      : never
  }[keyof Record[Router] & string]
}[keyof Record & string]
type HasAny<T> =
  IsAny<T> extends true
    ? true
    : true extends (T extends object ? { [Key in keyof T]: IsAny<T[Key]> }[keyof T] : false)
      ? true
      : false

describe('the types of the router', () => {
  it('contain no any', () => {
    expectTypeOf<WithAny<Inputs>>().toBeNever()
    expectTypeOf<WithAny<Outputs>>().toBeNever()
    // The check itself detects an `any`.
    expectTypeOf<
      WithAny<{ jobs: { get: unknown; list: { items: Anything[]; total: Anything } } }>
    >().toEqualTypeOf<'jobs.list'>()
  })

  it('are those of the shapes in core', () => {
    expectTypeOf<Outputs['jobs']['enqueue']>().toEqualTypeOf<Enqueued>()
    expectTypeOf<Outputs['jobs']['get']>().toExtend<Job>()
    expectTypeOf<Outputs['jobs']['list']['items']>().toEqualTypeOf<JobSummary[]>()
    expectTypeOf<Outputs['health']['get']>().toEqualTypeOf<Health>()
    expectTypeOf<Outputs['queues']['pause']>().toEqualTypeOf<null>()
  })

  it('distinguish finished from unfinished jobs', () => {
    type Waited = Outputs['jobs']['wait']
    expectTypeOf<Extract<Waited, { finished: true }>['status']>().toEqualTypeOf<
      'completed' | 'failed' | 'cancelled'
    >()
    expectTypeOf<Extract<Waited, { finished: false }>>().not.toHaveProperty('result')
  })

  it('give each message of a stream its id', () => {
    type Options = Parameters<Client['jobs']['watch']['subscribe']>[1]
    type Message = Parameters<NonNullable<Options['onData']>>[0]
    expectTypeOf<Message>().toExtend<{ id: string; data: WatchMessage }>()
  })

  it('refuse what the server would refuse', () => {
    const calls = (client: Client) => [
      // @ts-expect-error a job has a topic
      client.jobs.enqueue.mutate({ payload: {} }),
      // @ts-expect-error a priority is a number
      client.jobs.enqueue.mutate({ topic: 'mail', priority: 'high' }),
      // @ts-expect-error there is no such status
      client.jobs.list.query({ status: 'lost' }),
      // @ts-expect-error ids or a filter, not both
      client.jobs.requeue.mutate({ ids: [], filter: {}, asOf: 'now' }),
      // @ts-expect-error there is no such procedure
      client.jobs.steal.query(),
      // @ts-expect-error a subscription is not a query
      client.jobs.watch.query({ id: '' }),
    ]
    expectTypeOf(calls).toBeFunction()
  })

  it('know all routers', () => {
    expectTypeOf<keyof Outputs>().toEqualTypeOf<
      | ('jobs' | 'queues' | 'workers' | 'topics' | 'schedules' | 'tokens' | 'audit' | 'settings' | 'health')
      | ('devices' | 'pairings' | 'channels' | 'bulkOperations' | 'alerts' | 'database')
    >()
    expectTypeOf<AppRouter['_def']['record']>().toExtend<TRPCRouterRecord>()
  })
})
