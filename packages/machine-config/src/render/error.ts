/** Why a pool cannot be rendered: shown in its condition, so it names object, field and cure. */
export class RenderError extends Error {
  override readonly name = 'RenderError';
}
