export { createLogger, type LoggerOptions } from './logger.ts'
