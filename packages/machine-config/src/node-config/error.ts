/** The condition of the object shows the message. A retry of a refused object has the same result. */
export class NodeConfigError extends Error {
  override readonly name: string = 'NodeConfigError';
  /** `hint` is absent if the message contains the fix. */
  readonly hint: string | undefined;

  constructor(message: string, options?: ErrorOptions & { readonly hint?: string | undefined }) {
    super(message, options);
    this.hint = options?.hint;
  }
}
