/** A handler that does not wait for a note must not end the process when the note is refused. */
export function forgettable<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}
