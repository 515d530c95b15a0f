/** Why a KubeletConfig or ContainerRuntimeConfig is refused: shown in its condition. Trying again changes nothing. */
export class NodeConfigError extends Error {
  override readonly name: string = 'NodeConfigError';
  /** What a user can do about it, where the message does not say it. */
  readonly cure: string | undefined;

  constructor(message: string, options?: ErrorOptions & { readonly cure?: string | undefined }) {
    super(message, options);
    this.cure = options?.cure;
  }
}
