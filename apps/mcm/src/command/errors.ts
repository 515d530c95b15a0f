/** An error that the user can fix. The program prints the message of this error without a stack. */
export class UserError extends Error {
  override readonly name = 'UserError';
}
