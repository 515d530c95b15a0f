/** A failure that the user can do something about: printed as one sentence, without a stack. */
export class UserError extends Error {
  override readonly name = 'UserError';
}
