/** An error that the user can fix. The program prints the message of a UserError without a stack. */
export class UserError extends Error {
  override readonly name = 'UserError';
}
