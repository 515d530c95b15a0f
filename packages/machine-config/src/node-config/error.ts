/**
 * The error if the controller refuses a KubeletConfig or ContainerRuntimeConfig. A retry would fail again. The
 * condition of the object contains the message.
 */
export class NodeConfigError extends Error {
  override readonly name: string = 'NodeConfigError';
  /** The hint for the user. If the message contains the fix, the hint is absent. */
  readonly hint: string | undefined;

  constructor(message: string, options?: ErrorOptions & { readonly hint?: string | undefined }) {
    super(message, options);
    this.hint = options?.hint;
  }
}
