/**
 * A pool cannot be rendered. The condition of the pool shows the message, so the message names the object, the field and a
 * hint.
 */
export class RenderError extends Error {
  override readonly name = 'RenderError';
  /** How the user can fix it, if the message does not contain the fix. */
  readonly hint: string | undefined;

  constructor(message: string, options?: ErrorOptions & { readonly hint?: string | undefined }) {
    super(message, options);
    this.hint = options?.hint;
  }
}
