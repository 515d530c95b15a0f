/** The error if the controller refuses a KubeletConfig or ContainerRuntimeConfig; a retry would fail again. */
export class NodeConfigError extends Error {
  override readonly name: string = 'NodeConfigError';
  readonly hint: string | undefined;

  constructor(message: string, options?: ErrorOptions & { readonly hint?: string | undefined }) {
    super(message, options);
    this.hint = options?.hint;
  }
}
