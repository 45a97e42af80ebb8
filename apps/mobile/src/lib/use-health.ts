import type { UseQueryResult } from '@tanstack/react-query'
import { useRead } from './api.tsx'
import { HEALTH_KEY, type Health } from './connection-provider.tsx'

/** The health of the whole system: fetched once, then kept up to date by the stream. */
export function useHealth(): UseQueryResult<Health> {
  return useRead({ key: HEALTH_KEY, call: (client, options) => client.health.get(undefined, options) })
}
