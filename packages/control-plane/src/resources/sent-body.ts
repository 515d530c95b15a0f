export interface SentBody {
  readonly plain: Record<string, unknown>;
  readonly bytes: Uint8Array;
  /** Whether the client sent YAML. The text alone cannot show the format, because JSON is valid YAML. */
  readonly isYaml: boolean;
}
