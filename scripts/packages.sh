# Sourced by the other scripts: one program from the system's packages, where
# it can be installed without asking anybody.

# package NAME APT DNF APK BREW installs the package that has the program NAME,
# called so by each package manager. It fails where that can't be done, and says
# what to run. The caller has a function say.
package() {
	local name=$1 command
	if command -v apt-get >/dev/null; then
		command="apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $2"
	elif command -v dnf >/dev/null; then
		command="dnf install -y $3"
	elif command -v apk >/dev/null; then
		command="apk add $4"
	elif command -v brew >/dev/null; then
		command="brew install $5"
	else
		say "install $name, and run this again"
		return 1
	fi
	local as=(sh -c)
	case $command in
	brew*) ;; # refuses root
	*)
		if [ "$(id -u)" != 0 ]; then
			if ! sudo -n true 2>/dev/null; then
				say "no $name here, and no right to install it. Run this, then the tests again:"
				say "    sudo sh -c '$command'"
				return 1
			fi
			as=(sudo -n sh -c)
		fi
		;;
	esac
	say "no $name here; installing it: $command"
	"${as[@]}" "$command" </dev/null >&2 || {
		say "that did not work"
		return 1
	}
}
