/** The error if the controller cannot render a pool. */
export class RenderError extends Error {
  override readonly name = 'RenderError';
  /** The hint for the user, or absent if the message contains the fix. */
  readonly hint: string | undefined;

  constructor(message: string, options?: ErrorOptions & { readonly hint?: string | undefined }) {
    super(message, options);
    this.hint = options?.hint;
  }
}
