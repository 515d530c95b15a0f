/**
 * The controller refuses an object, and a retry would have the same result. The condition of the object contains the
 * message.
 */
export class NodeConfigError extends Error {
  override readonly name: string = 'NodeConfigError';
  /** The hint, absent if the message contains the fix. */
  readonly hint: string | undefined;

  constructor(message: string, options?: ErrorOptions & { readonly hint?: string | undefined }) {
    super(message, options);
    this.hint = options?.hint;
  }
}
