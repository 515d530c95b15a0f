export interface SentBody {
  readonly plain: Record<string, unknown>;
  readonly bytes: Uint8Array;
  readonly isYaml: boolean;
}
