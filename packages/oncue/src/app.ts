/** Oncue's app and API below a path of your own server. */
export { type OncueApp, type OncueAppOptions, oncueApp, type Person } from '@oncue/api'
