/** A failure that the user can fix: printed as one sentence, without a stack. */
export class UserError extends Error {
  override readonly name = 'UserError';
}
