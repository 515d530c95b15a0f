/** A request body as plain JSON and in its original form. */
export interface SentBody {
  readonly plain: Record<string, unknown>;
  readonly bytes: Uint8Array;
  /** Whether the client sent YAML. JSON is valid YAML, so the text does not show this. */
  readonly isYaml: boolean;
}
