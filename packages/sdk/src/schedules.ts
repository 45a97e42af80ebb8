import type { InputOf, JobDefinitions, TopicOf } from '@oncue/core'
import type { CallOptions, Calls, Inputs, Outputs } from './api.ts'
import { toRequest } from './requests.ts'

/** A schedule whose topic and payload fit the definitions. The payload may be left out where the topic accepts none. */
export type ScheduleToSave<Jobs extends JobDefinitions> = {
  [Topic in TopicOf<Jobs>]: Omit<Inputs['schedules']['save'], 'topic' | 'payload'> & {
    readonly topic: Topic
  } & PayloadFor<InputOf<Jobs, Topic>>
}[TopicOf<Jobs>]

type PayloadFor<Input> = undefined extends Input
  ? { readonly payload?: Input | undefined }
  : { readonly payload: Input }

/** Lists and edits schedules. */
export type SchedulesClient<Jobs extends JobDefinitions> = Omit<Calls['schedules'], 'save'> & {
  /** Creates or changes a schedule. Throws UNKNOWN_TOPIC or INVALID_PAYLOAD before a request is sent. */
  save(schedule: ScheduleToSave<Jobs>, options?: CallOptions): Promise<Outputs['schedules']['save']>
}

export function createSchedules<Jobs extends JobDefinitions>(
  calls: Calls['schedules'],
  definitions: Jobs | undefined,
): SchedulesClient<Jobs> {
  return {
    ...calls,
    async save(schedule, options) {
      const input = schedule as Inputs['schedules']['save']
      if (!definitions) return calls.save(input, options)
      const { payload } = toRequest(definitions, input.topic, input.payload, undefined).request
      return calls.save({ ...input, payload }, options)
    },
  }
}
