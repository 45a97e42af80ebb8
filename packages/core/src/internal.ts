/** Where Oncue's own work waits, which the API runs. Health and alerts leave it out: it is not what users wait for. */
export const INTERNAL_QUEUE = 'oncue'

/** Topics that begin like this are Oncue's own: nobody else may enqueue them over the API. */
export const INTERNAL_TOPIC_PREFIX = 'oncue:'
