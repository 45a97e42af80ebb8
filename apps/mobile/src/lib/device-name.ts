import * as Device from 'expo-device'

/** What this device might be called. */
export const DEVICE_NAME = Device.deviceName ?? Device.modelName ?? 'Phone'
