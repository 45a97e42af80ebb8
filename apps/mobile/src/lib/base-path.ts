/** The path below which a server has mounted this app. A native app has none. */
export const BASE_PATH = ''

/** Another application signs people in and out. */
export const IS_MOUNTED: boolean = false
