class SmtpTimeout extends Error {
  override readonly name = 'SmtpTimeout'
}

/** What was deployed in the evening. */
export const workers = {
  async mail_digest() {
    throw new SmtpTimeout('smtp.example.com:587 did not answer within 10 s')
  },
}
