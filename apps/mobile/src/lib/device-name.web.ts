/** What this device might be called. */
export const DEVICE_NAME = 'Browser'
