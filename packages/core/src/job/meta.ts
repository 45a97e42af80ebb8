import { z } from 'zod'

/**
 * zod leaves this key out of a record silently: a job would lose a value, and a filter a condition, so that it matches
 * jobs that were not meant.
 */
const DROPPED = '__proto__'

/** A record that is refused where zod would leave something out. Its type has a name in every zod that we support. */
export function wholeRecord<Key extends z.ZodType<string, string>, Value extends z.ZodType>(
  key: Key,
  value: Value,
): z.ZodPipe<z.core.$ZodTransform<unknown, z.input<z.ZodRecord<Key, Value>>>, z.ZodRecord<Key, Value>> {
  const record = z.record(key, value)
  return z.preprocess((given: z.input<typeof record>, { addIssue }) => {
    if (hasDroppedKey(given)) addIssue({ code: 'custom', message: `must not have a key ${DROPPED}` })
    return given
  }, record)
}

export function hasDroppedKey(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, DROPPED)
}
