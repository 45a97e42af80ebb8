import type { Procedures } from './api.ts'

// Generated from apps/api/src/procedures by apps/api/test/procedures.test.ts. Do not edit.
export const PROCEDURES = {
  jobs: {
    enqueue: 'mutation',
    enqueueMany: 'mutation',
    list: 'query',
    stats: 'query',
    get: 'query',
    events: 'query',
    failures: 'query',
    series: 'query',
    gauges: 'query',
    delete: 'mutation',
    requeue: 'mutation',
    runNow: 'mutation',
    cancel: 'mutation',
    watch: 'subscription',
    wait: 'query',
  },
  bulkOperations: {
    preview: 'query',
    run: 'mutation',
    get: 'query',
    list: 'query',
    stop: 'mutation',
    watch: 'subscription',
  },
  queues: {
    list: 'query',
    pause: 'mutation',
    resume: 'mutation',
    limit: 'mutation',
    configure: 'mutation',
  },
  workers: {
    list: 'query',
  },
  alerts: {
    list: 'query',
    get: 'query',
    ack: 'mutation',
    unack: 'mutation',
    snooze: 'mutation',
    unsnooze: 'mutation',
    watch: 'subscription',
    rules: 'query',
    createRule: 'mutation',
    updateRule: 'mutation',
    deleteRule: 'mutation',
  },
  channels: {
    list: 'query',
    create: 'mutation',
    update: 'mutation',
    delete: 'mutation',
    test: 'mutation',
  },
  topics: {
    list: 'query',
  },
  schedules: {
    list: 'query',
    save: 'mutation',
    remove: 'mutation',
    pause: 'mutation',
    resume: 'mutation',
    runNow: 'mutation',
  },
  tokens: {
    list: 'query',
    create: 'mutation',
    revoke: 'mutation',
    me: 'query',
  },
  devices: {
    list: 'query',
    rename: 'mutation',
    revoke: 'mutation',
    registerPush: 'mutation',
    testPush: 'mutation',
  },
  pairings: {
    create: 'mutation',
    exchange: 'mutation',
  },
  audit: {
    list: 'query',
  },
  settings: {
    get: 'query',
    set: 'mutation',
  },
  health: {
    get: 'query',
    watch: 'subscription',
  },
} as const satisfies Procedures
