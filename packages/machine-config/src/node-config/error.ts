/** Why a KubeletConfig or ContainerRuntimeConfig is refused: shown in its condition. Trying again changes nothing. */
export class NodeConfigError extends Error {
  override readonly name: string = 'NodeConfigError';
}
