/** What `oncue dev` and the processes that run the handlers tell each other. */

export type ToWorker =
  /** The API is ready: open the store, and work. */
  | { readonly kind: 'open'; readonly url: string }
  /** As a signal: the second one stops at once. */
  | { readonly kind: 'stop' }

export type FromWorker =
  /** A file that the modules import. */
  { readonly kind: 'file'; readonly path: string } | { readonly kind: 'loaded' }
