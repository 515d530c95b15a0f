/** Durations that fields accept: Go's syntax without a sign in front of a negative value. */
export const DURATION_PATTERN = /^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$/;
