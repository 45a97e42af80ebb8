/** What was deployed at night. */
export const workers = {
  async mail_digest() {
    return { sent: 1 }
  },
}
