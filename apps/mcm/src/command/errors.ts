/** An error that the user can fix. */
export class UserError extends Error {
  override readonly name = 'UserError';
}
