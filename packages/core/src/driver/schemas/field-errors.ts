/**
 * Collects problems of fields. The messages are those of the validation library of Kubernetes (apimachinery
 * `field.Error`).
 */
export class FieldErrors {
  readonly #errors: string[] = [];

  required(path: string, detail: string): void {
    this.#errors.push(`${path}: Required value: ${detail}`);
  }

  invalid(path: string, value: unknown, detail: string): void {
    this.#errors.push(`${path}: Invalid value: ${JSON.stringify(value)}: ${detail}`);
  }

  unsupported(path: string, value: string, supported: readonly string[]): void {
    const known = supported.map((each) => JSON.stringify(each)).join(', ');
    this.#errors.push(`${path}: Unsupported value: ${JSON.stringify(value)}: supported values: ${known}`);
  }

  forbidden(path: string, detail: string): void {
    this.#errors.push(`${path}: Forbidden: ${detail}`);
  }

  get all(): readonly string[] {
    return this.#errors;
  }

  /** Several problems are in brackets, without duplicates. */
  text(): string | undefined {
    const distinct = [...new Set(this.#errors)];
    return distinct.length > 1 ? `[${distinct.join(', ')}]` : distinct[0];
  }
}
