import type { EnqueueOptions, JobDefinitions } from '@oncue/core'
import { checkRequest, unknownTopic } from '@oncue/core/internal'
import type { EnqueueItem } from '@oncue/core/wire'

/**
 * A job in the form that the API accepts. Throws for everything that can be checked before a request is sent. The
 * options of the definition are sent too, because the API does not know it.
 */
export function toRequest(
  definitions: JobDefinitions | undefined,
  topic: string,
  payload: unknown,
  options: EnqueueOptions | undefined,
): { readonly request: EnqueueItem; readonly payloadBytes: number } {
  if (definitions && !Object.hasOwn(definitions, topic)) {
    const hint = 'Define it with defineJobs, and pass the definitions to createClient as jobs.'
    throw unknownTopic(topic, 'is not defined in the jobs of this client', Object.keys(definitions), hint)
  }
  return checkRequest(topic, payload, options, definitions?.[topic])
}
