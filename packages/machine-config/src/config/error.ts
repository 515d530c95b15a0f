/** Why a pool cannot be rendered: shown in its condition, so it names object, field and cure. */
export class RenderError extends Error {
  override readonly name = 'RenderError';
  /** What a user can do about it, where the message does not say it. */
  readonly cure: string | undefined;

  constructor(message: string, options?: ErrorOptions & { readonly cure?: string | undefined }) {
    super(message, options);
    this.cure = options?.cure;
  }
}
